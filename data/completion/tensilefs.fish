# SPDX-License-Identifier: MIT
# Completion of tensilefs for fish. What there is is asked of the program, as in tensilefs.bash.

function __tensilefs_commands
	tensilefs --help 2>/dev/null | string replace -rf '^tensilefs ([a-z]+) .*  (.*)$' '$1\t$2'
end

function __tensilefs_options
	set -l words (commandline -opc)
	tensilefs $words[2] --help 2>/dev/null | string replace -rf '^  (--[a-z-]+)(?: [A-Z]+)? +(\S.*)$' '$1\t$2'
end

function __tensilefs_choices
	set -l words (commandline -opc)
	string match -q -- '--*' $words[-1]
	and tensilefs $words[2] $words[-1] '?' 2>&1 | string match -rg 'is not one of (.*)' | string split ', ' | string trim -c "'"
end

function __tensilefs_actions
	tensilefs cache --help 2>/dev/null | string match -rg ' cache ([a-z|]+) ' | head -n 1 | string split '|'
end

function __tensilefs_names
	set -l words (commandline -opc)
	tensilefs ls $words[3] 2>/dev/null | string replace -r '.*/' ''
end

function __tensilefs_words -a n
	test (count (commandline -opc)) -eq $n
end

complete -c tensilefs -n '__tensilefs_words 1' -f -a '(__tensilefs_commands)'
complete -c tensilefs -n 'not __tensilefs_words 1' -a '(__tensilefs_options)'
complete -c tensilefs -n 'not __tensilefs_words 1' -a '(__tensilefs_choices)'
complete -c tensilefs -n '__tensilefs_words 2; and __fish_seen_subcommand_from cache' -f -a '(__tensilefs_actions)'
complete -c tensilefs -n 'not __tensilefs_words 2; and __fish_seen_subcommand_from show hash asm verify' -a '(__tensilefs_names)'
