# fish completion for symph                                      SPDX-License-Identifier: Apache-2.0
# symph itself says what fits: lines WORD<tab>DESCRIPTION, or <tab>files, <tab>folders.

function __symph_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete $words[2..-1] 2>/dev/null)
        switch $line
            case \tfiles
                __fish_complete_path (commandline -ct)
            case \tfolders
                __fish_complete_directories (commandline -ct) ''
            case '*'
                echo $line
        end
    end
end

complete -c symph -f -a '(__symph_complete)'
