#!/usr/bin/env bash
# An agent on a session of ctxfs, in bash and jq.
#
#     agent.sh ask SESSION TEXT       one turn: TEXT is asked, a tool is called, the answer is printed
#     agent.sh append SESSION LINE    appends a line as it is
#     agent.sh follow SESSION         prints what is said, until the session's state is done
#
# SESSION is a folder in the mount, and is made if it is not there. docs/agents.md explains it.
set -eu

# append LINE: when it returns, the line is in the log. bash has no errno, but its text.
append() {
	local said
	said=$({ printf '%s\n' "$1" >>"$session/messages.jsonl"; } 2>&1) && return
	case $said in
	*'Invalid argument'*) said='EINVAL: it is not one JSON object; mend it, and append it again' ;;
	*'File too large'*) said='EFBIG: it is too long; store the bytes elsewhere and name them' ;;
	*'No space left'*) said='ENOSPC: the disk is full; nothing of it is in the log, try again later' ;;
	*'quota exceeded'*) said='EDQUOT: your quota is used up; nothing of it is in the log, try again later' ;;
	*'not connected'*) said='ENOTCONN: the daemon is gone; mount again, and append it again' ;;
	esac
	echo "agent: $said" >&2
	exit 1
}

say() { append "$(jq -cn --arg role "$1" --argjson content "$2" '{$role, content: [$content]}')"; }

# What the model is to see: pack.md. pack.json tells the same to programs.
window() {
	jq -r '"pack: \(.tokens) of \(.budget_tokens) tokens, \(.omitted | length) left out"' "$session/context/pack.json" >&2
	cat "$session/context/pack.md"
}

# Stands for a model: asks for the tool, and answers once the newest record is a result. Put the call of yours here.
model() {
	local newest=${1##*$'\n['}
	if [[ ${newest%%]*} != *' tool, result of '* ]]; then
		jq -cn --arg id "call-$(date +%s%N)" '{type: "tool_use", $id, name: "count_lines", input: {file: "messages.jsonl"}}'
	else
		jq -cn --arg lines "$(sed -n 2p <<<"$newest")" '{type: "text", text: "The log had \($lines) lines."}'
	fi
}

ask() {
	local pack said result round
	echo active >"$session/state"
	say user "$(jq -cn --arg text "$1" '{type: "text", $text}')"
	for ((round = 1; ; round++)); do
		((round <= 8)) || {
			echo error >"$session/state"
			echo 'agent: no answer after 8 calls' >&2
			exit 1
		}
		pack=$(window)
		said=$(model "$pack")
		say assistant "$said"
		[ "$(jq -r .type <<<"$said")" = tool_use ] || break
		result=$(wc -l <"$session/$(jq -r .input.file <<<"$said")")
		say tool "$(jq -c --arg result "$result" '{type: "tool_result", tool_use_id: .id, content: $result}' <<<"$said")"
	done
	echo idle >"$session/state"
	cat "$session/latest.md"
	echo
}

follow() {
	local state line
	exec 3<"$session/messages.jsonl"
	while :; do
		state=$(<"$session/state")
		while IFS= read -r line <&3; do # the log shows whole lines only, and never changes what it showed
			echo "$(jq -r .role <<<"$line"): $line"
		done
		[ "$state" != 'done' ] || return 0
		sleep 0.1
	done
}

export LC_ALL=C.UTF-8 # the text of an errno in English
session=${2:-}
case ${1:-} in
ask | append) [ $# = 3 ] ;;
follow) [ $# = 2 ] ;;
*) false ;;
esac || {
	sed -n 's/^#     //p' "$0" >&2
	exit 1
}
mkdir -p "$session"
"$1" "${@:3}"
