# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of hugepagesctl(8) for fish: the program itself knows its words.

function __hugepagesctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    test (count $current) -gt 0
    or set current ''
    $words[1] --complete $words[2..-1] $current 2>/dev/null
end

function __hugepagesctl_words
    __hugepagesctl_complete | string match -v -r '^:'
end

function __hugepagesctl_wants
    __hugepagesctl_complete | string match -q -- ":$argv[1]"
end

complete -c hugepagesctl -f -a '(__hugepagesctl_words)'
complete -c hugepagesctl -n '__hugepagesctl_wants files' -F
complete -c hugepagesctl -n '__hugepagesctl_wants directories' -a '(__fish_complete_directories (commandline -ct))'
