# bash completion for symph                                      SPDX-License-Identifier: Apache-2.0

_symph_policies() {
    symph simulate --list-policies 2>/dev/null | awk 'NR > 1 { if (!NF) exit; print $1 }'
}

_symph_generators() {
    symph graph --list-generators 2>/dev/null | awk 'NR > 1 { print $1 ":" }'
}

_symph_options() {
    case $1 in
    machine) echo "--tree --json --quiet --help" ;;
    graph) echo "--dot --out --check --list-generators --only --max-instances --json --quiet
        --help" ;;
    bound) echo "--machine --graphs --only --max-instances --accelerate --times --lp --limit
        --exact --nodes --anneal --seed --json --quiet --help" ;;
    plan) echo "--input-features --objective --constraint --machine --times --class --busy --price --overlap --no-overlap
        --side-by-side --plan --front --plot --kernels --models --json --quiet --help" ;;
    simulate) echo "--machine --graphs --only --max-instances --policy --list-policies --seeds --seed
        --accelerate --times --noise --noise-file --spikes --model-error --decision-us --contention
        --smt-table --gpu-table --hidden-load --hidden-period --belief --counter-noise --counters --counter-period --judge
        --fail --tenants --load --jobs --arrivals --replay
        --per-graph --plot --trace --paje --check --timing --threads --json --quiet --help" ;;
    explain) echo "--json --quiet --help" ;;
    run) echo "--policy --compare --repeat --seed --check --no-check --limit --kernels --models --cpus --opencl
        --cuda --emulate --pipeline --objective --constraint --plan --side-by-side --times --calibrate --out --watts --window
        --plot --trace --paje --record --json --quiet --help" ;;
    starpu) echo "--policy --plugin --show --verbose --json --quiet --help" ;;
    kernels) echo "--kernels --models --calibrate --samples --forget --json --quiet --help" ;;
    counters) echo "--interval --duration --once --all --plot --prometheus --out --speed --fast --machine
        --only --group --arch --scope --dot --events --metrics --processor --listings --compile --out --source --json --quiet --help" ;;
    train) echo "--policy --method --seed --minutes --generations --out --resume --init --data --families
        --without-family --without-machine --singles --tasks --belief --utility --price --references --pairs --worlds
        --sigma --rate --hinge --validation --every --patience --decisions --alternatives --imitate --gradient
        --compare --scenarios --plot --threads --json --quiet --help" ;;
    call-variants) echo "--ref --reads --out --bam --sample --samples --regions --index --memory --batch --limit --policy
        --kernels --models --cpus --opencl --cuda --plot --trace --record --json --quiet --help" ;;
    genomics) echo "--ref --region --random --out --coverage --read-length --seed --easy --truth --calls --strata
        --quality --all --json --quiet --help" ;;
    bench) echo "--data --seeds --threads --traces --counters --split --noise --outliers --ablations --papers --plot --suite --only --policy --rollouts --zero-shot --mutations --worst --times --pipeline --kernels --out --json --quiet --help" ;;
    esac
}

_symph() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W \
            "machine graph bound plan simulate run explain starpu kernels counters train call-variants genomics bench help --help --version" -- "$cur")
        return
    fi
    if [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "machine graph bound plan simulate run explain starpu kernels counters train call-variants genomics bench" -- "$cur")
        return
    fi
    if [[ $prev == --policy || $prev == --compare ]]; then
        local done=
        [[ $cur == *,* ]] && done=${cur%,*},
        mapfile -t COMPREPLY < <(compgen -P "$done" -W "all $(_symph_policies)" -- "${cur##*,}")
        compopt -o nospace
        return
    fi
    if [[ ($command == plan || $command == run) && $prev == --objective ]]; then
        mapfile -t COMPREPLY < <(compgen -W "throughput latency energy money balanced" -- "$cur")
        return
    fi
    if [[ $command == counters && COMP_CWORD -eq 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "watch sources record replay listing model --help" -- "$cur")
        return
    fi
    if [[ $command == genomics && COMP_CWORD -eq 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "simulate score --help" -- "$cur")
        return
    fi
    if [[ $command == starpu && $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
        return
    fi
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_symph_options "$command")" -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    if [[ $command != machine && $command != plan && $command != call-variants && $command != genomics ]]; then
        local generators
        mapfile -t generators < <(compgen -W "$(_symph_generators)" -- "$cur")
        COMPREPLY+=("${generators[@]}")
    fi
}

complete -o filenames -F _symph symph
