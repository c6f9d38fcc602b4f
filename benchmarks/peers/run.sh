#!/bin/sh
# Runs both peers against an endpoint that streams (normally the native server of `make bench-wire`):
#     run.sh PORT STREAMS TOKENIZER_FOLDER [PEERS_FOLDER]
# Their reports land in the current folder: guidellm.json and aiperf/.
set -eu
port="$1" streams="$2" tokenizer="$3" peers="${4:-.peers}"
requests=$((streams * 4))
i=0
: > prompts.jsonl
while [ "$i" -lt 64 ]; do
    printf '{"prompt": "%s: say something."}\n' "$i" >> prompts.jsonl
    i=$((i + 1))
done
core=$(($(nproc) - 1))
taskset -c "$core" "$peers/guidellm/bin/guidellm" run \
    --backend "kind=openai_http,target=http://127.0.0.1:$port,model=m,validate_backend=false" \
    --profile "kind=concurrent,streams=$streams" --data "kind=json_file,path=prompts.jsonl" \
    --tokenizer "kind=huggingface_auto,model=$tokenizer" --constraint "kind=max_requests,count=$requests" \
    --output "kind=json,path=guidellm.json" --output kind=console --disable-progress
taskset -c "$core" "$peers/aiperf/bin/aiperf" profile -m m --url "http://127.0.0.1:$port" --endpoint-type chat \
    --streaming --concurrency "$streams" --request-count "$requests" --tokenizer "$tokenizer" --isl 50 --osl 100 \
    --ui none --no-gpu-telemetry --no-server-metrics --artifact-dir aiperf
