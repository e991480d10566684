# fish completion for symph                                      SPDX-License-Identifier: Apache-2.0

function __symph_policies
    echo all
    symph simulate --list-policies 2>/dev/null | awk 'NR > 1 { print $1 }'
end

function __symph_generators
    symph graph --list-generators 2>/dev/null | awk 'NR > 1 { print $1 ":" }'
end

function __symph_needs_command
    test (count (commandline -opc)) -eq 1
end

function __symph_using
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

complete -c symph -n __symph_needs_command -f -a machine -d 'show a machine'
complete -c symph -n __symph_needs_command -f -a graph -d 'read, check, convert and generate graphs'
complete -c symph -n __symph_needs_command -f -a bound -d 'how fast could any schedule be'
complete -c symph -n __symph_needs_command -f -a simulate -d 'run schedulers in virtual time'
complete -c symph -n __symph_needs_command -f -a bench -d 'regenerate the tables of the documentation'
complete -c symph -n __symph_needs_command -f -a help -d 'the options of a command'
complete -c symph -n __symph_needs_command -l version -d 'print the version'
complete -c symph -n '__symph_using help' -f -a 'machine graph bound simulate bench'
complete -c symph -l help -d 'show the options'
complete -c symph -n '__symph_using graph bound simulate' -a '(__symph_generators)'
complete -c symph -n '__symph_using machine graph bound simulate bench' -l json -d 'print one JSON object'
complete -c symph -n '__symph_using machine graph bound simulate bench' -l quiet -d 'no progress bar and no notes'
complete -c symph -n '__symph_using machine' -l draw -d 'a drawing instead of tables'
complete -c symph -n '__symph_using graph' -l dot -r -F -d 'write DOT'
complete -c symph -n '__symph_using graph' -l write -r -F -d 'write native JSON'
complete -c symph -n '__symph_using graph' -l validate -d 'only check'
complete -c symph -n '__symph_using graph' -l list-generators -d 'what gen: knows'
complete -c symph -n '__symph_using graph bound simulate' -l only -x -d 'graphs whose name matches'
complete -c symph -n '__symph_using graph bound simulate' -l max-instances -x -d 'fold larger stages'
complete -c symph -n '__symph_using bound simulate' -l machine -r -F -d 'here, a file or a line of text'
complete -c symph -n '__symph_using bound simulate' -l graphs -r -F -d 'graph files or generators'
complete -c symph -n '__symph_using bound simulate' -l accelerate -x -d 'speed-ups for CPU-only tasks'
complete -c symph -n '__symph_using bound simulate' -l costs -r -F -d 'measured kernel times'
complete -c symph -n '__symph_using bound simulate' -l seed -x -d 'first seed'
complete -c symph -n '__symph_using bound' -l lp -d 'mixed LP'
complete -c symph -n '__symph_using bound' -l time-limit -x -d 'for the solver, seconds'
complete -c symph -n '__symph_using bound' -l exact -d 'branch and bound'
complete -c symph -n '__symph_using bound' -l nodes -x -d 'limit of branch and bound'
complete -c symph -n '__symph_using bound' -l anneal -x -d 'search steps'
complete -c symph -n '__symph_using simulate' -l policy -x -a '(__fish_complete_list , __symph_policies)' -d 'policies to compare'
complete -c symph -n '__symph_using simulate' -l list-policies -d 'the policies'
complete -c symph -n '__symph_using simulate' -l seeds -x -d 'runs of each graph'
complete -c symph -n '__symph_using simulate' -l noise -x -d 'log-normal noise'
complete -c symph -n '__symph_using simulate' -l noise-file -r -F -d 'measured noise'
complete -c symph -n '__symph_using simulate' -l spikes -x -d 'outliers, P:FACTOR'
complete -c symph -n '__symph_using simulate' -l model-error -x -d 'error of the cost model'
complete -c symph -n '__symph_using simulate' -l decision-us -x -d 'charge decisions'
complete -c symph -n '__symph_using simulate' -l contention -d 'share bandwidth'
complete -c symph -n '__symph_using simulate' -l smt-table -r -F -d 'hyper-thread slowdowns'
complete -c symph -n '__symph_using simulate' -l gpu-table -r -F -d 'GPU sharing slowdowns'
complete -c symph -n '__symph_using simulate' -l hidden-load -x -d 'share others take'
complete -c symph -n '__symph_using simulate' -l counter-noise -x -d 'relative error of counters'
complete -c symph -n '__symph_using simulate' -l counters -x -d 'counters that count at a time'
complete -c symph -n '__symph_using simulate' -l arrivals -r -F -d 'recorded stream of jobs'
complete -c symph -n '__symph_using simulate' -l fail -x -d 'lose a device, DEVICE@T-T2'
complete -c symph -n '__symph_using simulate' -l tenants -x -d 'tenants of a stream'
complete -c symph -n '__symph_using simulate' -l load -x -d 'offered load'
complete -c symph -n '__symph_using simulate' -l jobs -x -d 'jobs of a stream'
complete -c symph -n '__symph_using simulate' -l per-graph -d 'a table of graphs'
complete -c symph -n '__symph_using simulate' -l gantt -r -F -d 'SVG chart'
complete -c symph -n '__symph_using simulate' -l trace -r -F -d 'Chrome trace'
complete -c symph -n '__symph_using simulate' -l paje -r -F -d 'Paje trace'
complete -c symph -n '__symph_using simulate' -l check -d 'validate schedules'
complete -c symph -n '__symph_using simulate' -l timing -d 'time decisions'
complete -c symph -n '__symph_using simulate' -l threads -x -d 'simulations at a time'
complete -c symph -n '__symph_using bench' -l data -r -F -d 'folder of recorded data'
complete -c symph -n '__symph_using bench' -l seeds -x -d 'worlds per noisy scenario'
complete -c symph -n '__symph_using bench' -l threads -x -d 'simulations at a time'
complete -c symph -n '__symph_using bench' -l write -r -F -d 'write tables into a folder'
complete -c symph -n '__symph_using bench' -f -a 'classic ablation streams decisions speed all'
