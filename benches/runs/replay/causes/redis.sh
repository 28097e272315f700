# A server that syncs every write, and its client.
redis-server --port 0 --unixsocket "$PWD/socket" --appendonly yes --appendfsync always --save "" >/dev/null &
server=$!
until redis-cli -s socket ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s socket -t set -n 3000 -c 4 -q >/dev/null
redis-cli -s socket shutdown nosave
wait $server
