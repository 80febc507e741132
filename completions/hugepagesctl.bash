# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of hugepagesctl(8) for bash: the program itself knows its words.
# shellcheck shell=bash

_hugepagesctl() {
        local word words=() line current=
        COMPREPLY=()
        # bash splits "--output=POOL" into three.
        for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
                current=$word
                [ "$word" != = ] || current=
                [ "$word" = = ] || words+=("$word")
        done
        [ "${COMP_WORDS[COMP_CWORD]}" != = ] || words+=("")
        while IFS= read -r line; do
                case $line in
                :files)
                        compopt -o filenames 2>/dev/null
                        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
                        ;;
                :directories)
                        compopt -o filenames 2>/dev/null
                        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current")
                        ;;
                :nospace) compopt -o nospace 2>/dev/null ;;
                *)
                        word=${line%%$'\t'*}
                        [[ $word != "$current"* ]] || COMPREPLY+=("$word")
                        ;;
                esac
        done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}

complete -F _hugepagesctl hugepagesctl
