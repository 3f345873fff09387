#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots this machine's own systemd in namespaces, over a copy of its root that goes with it, in which the project is installed. What only
# systemd can do to a service is so done by systemd, wherever the tests run.
#
#     boot.sh BUILD LOGIC           stays in the foreground; PID 1 of the new world is its only child's child
#
# In the copy LOGIC is /srv/logic; services of the machine itself do not run, and /sys and /proc/sys can only be read.
set -euo pipefail
build=$1 logic=$2

if [ "${3:-}" != inside ]; then
	group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)$(sed -n 's/^0:://p' /proc/self/cgroup)/tensilefs-test.$$
	mkdir "$group"
	trap 'find "$group" -depth -type d -exec rmdir {} + 2>/dev/null' EXIT
	(
		echo $BASHPID >"$group/cgroup.procs"
		exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --propagation private "$0" "$build" "$logic" inside
	)
	exit
fi

world=/run
mount -t tmpfs tmpfs $world
mkdir $world/{upper,work,root}
root=$world/root
mount -t overlay overlay -o lowerdir=/,upperdir=$world/upper,workdir=$world/work $root
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
rm -rf $root/srv/logic
cp -r "$logic" $root/srv/logic
mkdir -p $root/etc/tensilefs $root/mnt $root/old

mount -t proc proc $root/proc
mount -t sysfs -o ro sysfs $root/sys
mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
mount --bind $root/proc/sys $root/proc/sys
mount -o remount,bind,ro $root/proc/sys
mount -t tmpfs tmpfs $root/run
mount -t tmpfs tmpfs $root/tmp
mount -t tmpfs -o mode=755 tmpfs $root/dev
for node in null zero full random urandom tty fuse autofs; do
	[ -e /dev/$node ] || continue
	touch $root/dev/$node
	mount --bind /dev/$node $root/dev/$node
done
ln -s pts/ptmx $root/dev/ptmx
for folder in etc/systemd/system usr/lib/systemd/system/{sysinit,sockets,timers,local-fs}.target.wants; do
	[ ! -d $root/$folder ] || mount -t tmpfs tmpfs $root/$folder
done

cd $root
pivot_root . old
umount -l /old
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=basic.target --show-status=no
