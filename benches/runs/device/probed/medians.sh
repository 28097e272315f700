# Stack, step and median of its seconds, of every measured step of a run: `medians RUN ROUNDS`, with seekwell in $seekwell.
medians() {
    "$seekwell" report "$1" --json | jq -r --argjson rounds "$2" '
        def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
        [.trials[] | select(.status == "ok") | .stack as $stack | .metrics
            | {unpack: ."unpack.elapsed_durable", read_archive: ."read_archive.elapsed",
               read_directory: ."read_directory.elapsed", remove: ."remove.elapsed_durable",
               inserts: ."inserts.elapsed", "stream-write": ."stream-write.elapsed_durable",
               "stream-read": ."stream-read.elapsed"}
            | to_entries[] | {stack: $stack, step: .key, value: .value}]
        | group_by([.stack, .step])[]
        | if length < $rounds or any(.value == null) then error("\(.[0].stack): \(.[0].step) lacks values") else . end
        | "\(.[0].stack),\(.[0].step),\(map(.value) | median)"'
}
