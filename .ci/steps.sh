# Steps of a run: each prints its time, and the table of all of them stands at the end. Sourced by run and nightly.
# The table has the seconds of processor time, too: with two cores, a run of N seconds can use 2 N of them.

names=() seconds=() processor=() others=() other_names=() other_logs=() other_begins=()
mkdir -p build

# step NAME COMMAND...: run it; if it fails the run ends, with the table.
step() {
    local name=$1 begun=$SECONDS status=0
    shift
    printf '\n=== %s (%ss)\n' "$name" "$SECONDS"
    # In a shell of its own, which waits for the processes of this step only.
    ("$@" || status=$?; children_seconds >build/step.cpu; exit "$status") || status=$?
    note "$name" "$((SECONDS - begun))" "$(<build/step.cpu)" "$status"
    [ "$status" = 0 ] || exit "$status"
}

# beside NAME LOG COMMAND...: run it beside the steps that follow, until `join`. There may be several.
beside() {
    local log=$2
    other_names+=("$1") other_logs+=("$log") other_begins+=("$SECONDS")
    printf '\n=== %s, beside the next steps (%ss)\n' "$1" "$SECONDS"
    shift 2
    mkdir -p "$(dirname "$log")"
    # Its end is written beside the log, because the steps that follow may end later. It has a process group
    # of its own, so that all its processes can be ended.
    set -m
    { status=0; "$@" || status=$?; printf '%s ' "$SECONDS" "$status" >"$log.end"; children_seconds >>"$log.end"; } \
        >"$log" 2>&1 &
    others+=("$!")
    set +m
}

# join: wait for all that `beside` began, and show what they printed.
join() {
    local number end status cpu failed=0
    wait "${others[@]}" || true
    others=()
    for number in "${!other_names[@]}"; do
        read -r end status cpu <"${other_logs[$number]}.end"
        printf '\n=== %s, done at %ss\n' "${other_names[$number]}" "$end"
        cat "${other_logs[$number]}"
        note "${other_names[$number]} (beside)" "$((end - other_begins[number]))" "$cpu" "$status"
        [ "$status" = 0 ] || failed=$status
    done
    other_names=() other_logs=() other_begins=()
    [ "$failed" = 0 ] || exit "$failed"
}

# children_seconds: processor seconds of the ended processes that this shell waited for, and of theirs. Inside $() they
# would be those of a new shell.
children_seconds() {
    local fields
    read -r -a fields </proc/$BASHPID/stat
    echo "$(((fields[15] + fields[16]) / 100))"
}

# note NAME SECONDS PROCESSOR_SECONDS STATUS: a line of the table.
note() {
    names+=("$1$([ "$4" = 0 ] || echo " FAILED with $4")")
    seconds+=("$2")
    processor+=("$3")
    printf -- '--- %s: %ss, %ss of a processor\n' "$1" "$2" "$3"
}

table() {
    local number cpu
    children_seconds >build/step.cpu
    cpu=$(<build/step.cpu)
    for number in "${others[@]}"; do kill -- "-$number" 2>/dev/null || true; done
    printf '\n%-44s %8s %10s\n' step seconds processor
    for number in "${!names[@]}"; do
        printf '%-44s %8s %10s\n' "${names[$number]}" "${seconds[$number]}" "${processor[$number]}"
    done
    printf '%-44s %8s %10s\n' 'in all' "$SECONDS" "$cpu"
}
trap table EXIT
