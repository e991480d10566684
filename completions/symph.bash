# bash completion for symph                                      SPDX-License-Identifier: Apache-2.0
# symph itself says what fits: lines WORD<tab>DESCRIPTION, or <tab>files, <tab>folders.

_symph() {
    local words=() word glued= i
    # bash splits words at : and =; symph wants them whole.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]})) && [[ $word == [:=]* || $glued ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        glued=
        [[ $word == *[:=] && ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] && glued=yes
    done
    word=${words[-1]}
    local stem=${word%"${word##*[:=]}"} option= found=() files=() line
    [[ $word == --*=* ]] && option=${word%%=*}=
    while IFS= read -r line; do
        case $line in
        $'\tfiles') mapfile -t files < <(compgen -P "$option" -f -- "${word#"$option"}") ;;
        $'\tfolders') mapfile -t files < <(compgen -P "$option" -d -- "${word#"$option"}") ;;
        *) found+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${words[@]}" 2>/dev/null)
    # A word that goes on gets no space, and no \ before its colon.
    [[ ${found[*]/%[:=,]/+} != "${found[*]}" ]] && compopt -o nospace 2>/dev/null
    ((${#found[@]})) || compopt -o filenames 2>/dev/null
    COMPREPLY=("${found[@]}" "${files[@]}")
    # Without the part that bash takes for words of their own.
    COMPREPLY=("${COMPREPLY[@]#"$stem"}")
}

complete -F _symph symph
