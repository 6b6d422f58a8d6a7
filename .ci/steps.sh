# Steps of a run: each prints its time, and the table of all of them stands at the end. Sourced by run and nightly.

names=() seconds=() others=() other_names=() other_logs=() other_begins=()

# step NAME COMMAND...: run it; if it fails the run ends, with the table.
step() {
    local name=$1 begun=$SECONDS status=0
    shift
    printf '\n=== %s (%ss)\n' "$name" "$SECONDS"
    "$@" || status=$?
    ended "$name" "$begun" "$status"
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
    { status=0; "$@" || status=$?; echo "$SECONDS $status" >"$log.end"; } >"$log" 2>&1 &
    others+=("$!")
    set +m
}

# join: wait for all that `beside` began, and show what they printed.
join() {
    local number end status failed=0
    wait "${others[@]}" || true
    others=()
    for number in "${!other_names[@]}"; do
        read -r end status <"${other_logs[$number]}.end"
        printf '\n=== %s, done at %ss\n' "${other_names[$number]}" "$end"
        cat "${other_logs[$number]}"
        note "${other_names[$number]} (beside)" "$((end - other_begins[number]))" "$status"
        [ "$status" = 0 ] || failed=$status
    done
    other_names=() other_logs=() other_begins=()
    [ "$failed" = 0 ] || exit "$failed"
}

ended() { note "$1" "$((SECONDS - $2))" "$3"; }

note() {
    names+=("$1$([ "$3" = 0 ] || echo " FAILED with $3")")
    seconds+=("$2")
    printf -- '--- %s: %ss\n' "$1" "$2"
}

table() {
    local number
    for number in "${others[@]}"; do kill -- "-$number" 2>/dev/null || true; done
    printf '\n%-44s %8s\n' step seconds
    for number in "${!names[@]}"; do printf '%-44s %8s\n' "${names[$number]}" "${seconds[$number]}"; done
    printf '%-44s %8s\n' 'in all' "$SECONDS"
}
trap table EXIT
