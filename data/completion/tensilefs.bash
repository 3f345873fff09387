# SPDX-License-Identifier: MIT
# Completion of tensilefs for bash. What there is is asked of the program: commands and options of its help, choices of its complaint about
# a wrong one, names of files of `tensilefs ls`, which builds nothing.

_tensilefs_commands() { "$1" --help 2>/dev/null | sed -n 's/^tensilefs \([a-z]*\) .*/\1/p'; }

# Options of a command, one a line, with the name of their value if they have one.
_tensilefs_options() { "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\)\( [A-Z]\{1,\}\)\{0,1\}\( .*\)\{0,1\}$/\1\2/p'; }

# What mount takes after -o: its long options by name, and what is listed beside --options.
_tensilefs_mount_options() {
	"$1" mount --help 2>/dev/null | sed -n '
		/^  --\(help\|options\|foreground\)/d
		s/^  --\([a-z-]*\) [A-Z]\{1,\} .*/\1=/p
		s/^  --\([a-z-]*\) .*/\1/p
		s/^ \{20,\}\([a-z_]*\)=[A-Z].*/\1=/p
		s/^ \{20,\}\(nonempty\|allow_other\) .*/\1/p'
}

# Values of an option that has a few choices.
_tensilefs_choices() { "$1" "$2" "$3" '?' 2>&1 | sed -n "s/.* is not one of //p" | tr -d "',"; }

_tensilefs_paths() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "-$1" -- "$2"); }

# A folder of logic, or one file of it.
_tensilefs_logic() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -d -- "$1"; compgen -f -X '!*.yaml' -- "$1")
}

_tensilefs_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

_tensilefs_value() {	# program, command, option, value so far, kind of value
	case $3 in
	-o | --options)
		local before=
		[[ $4 != *,* ]] || before=${4%,*},
		compopt -o nospace 2>/dev/null
		_tensilefs_words "$(_tensilefs_mount_options "$1" | sed "s|^|$before|")" "$4"
		return
		;;
	--arch)
		_tensilefs_words "gfx908 gfx90a gfx942" "$4"
		return
		;;
	esac
	case $5 in
	KIND) _tensilefs_words "$(_tensilefs_choices "$1" "$2" "$3")" "$4" ;;
	DIR | LOGIC) _tensilefs_paths d "$4" ;;
	PROGRAM | FILE) _tensilefs_paths f "$4" ;;
	esac
}

_tensilefs_argument() {	# program, command, value so far, number of the argument, the first argument
	case $2:$4 in
	run:1) _tensilefs_paths f "$3" ;;
	run:2) _tensilefs_words "$("$1" run "$5" 2>/dev/null | awk '{ print $1 }')" "$3" ;;
	status:1 | mount:2 | build:2) _tensilefs_paths d "$3" ;;
	cache:1) _tensilefs_words "$("$1" cache --help 2>/dev/null | sed -n '1s/.* cache \([a-z|]*\) .*/\1/p' | tr '|' ' ')" "$3" ;;
	caps:*) ;;
	cache:2 | *:1) _tensilefs_logic "$3" ;;
	show:2 | hash:2 | asm:2 | verify:*) _tensilefs_words "$("$1" ls "$5" 2>/dev/null | sed 's,.*/,,')" "$3" ;;
	esac
}

_tensilefs() {
	local program=$1 current=${COMP_WORDS[COMP_CWORD]} command= first= kind word previous= options i n=0
	local -A values=([-o]=LIST [-j]=N)
	COMPREPLY=()

	# --option=value comes in three words
	[ "$current" != = ] || current=
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ "$word" = = ]; then
			continue
		elif [ -n "$previous" ] && [ -n "${values[$previous]:-}" ]; then
			previous=
			continue
		fi
		previous=
		if [[ $word == -* ]]; then
			previous=$word
		elif [ -z "$command" ]; then
			command=$word
			while read -r word kind; do
				[ -z "$kind" ] || values[$word]=$kind
			done < <(_tensilefs_options "$program" "$command")
		else
			[ $((++n)) != 1 ] || first=$word
		fi
	done

	if [ -n "$previous" ] && [ -n "${values[$previous]:-}" ]; then
		_tensilefs_value "$program" "$command" "$previous" "$current" "${values[$previous]}"
	elif [ -z "$command" ]; then
		_tensilefs_words "$(_tensilefs_commands "$program") --help --version" "$current"
	elif [[ $current == -* ]]; then
		options=$(_tensilefs_options "$program" "$command")
		_tensilefs_words "$(sed 's/ .*//' <<<"$options")" "$current"
	else
		_tensilefs_argument "$program" "$command" "$current" $((n + 1)) "$first"
	fi
}

complete -F _tensilefs tensilefs
