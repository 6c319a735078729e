#!/bin/sh
# Writes the result of `pulumi preview` (preview.txt, events.jsonl) to the pull request as one comment,
# which a later run updates. With DRY_RUN set, prints it instead.
set -eu
marker='<!-- ray-train-efa preview -->'
events=${RAYTRAIN_EVENTS:-events.jsonl}
touch "$events"

# words lists what is deleted, replaced or updated, by name; of a new stack nothing. The lines of
# `pulumi preview --diff` are "+-TYPE: (replace)" and then "[urn=...::NAME]".
words() {
	awk '/: \((update|replace|delete)\)/ { op = $0; sub(/.*\(/, "", op); sub(/\).*/, "", op)
			type = $0; sub(/^[ +~-]*/, "", type); sub(/: \(.*/, "", type); next }
		op != "" && /\[urn=/ { name = $0; sub(/.*::/, "", name); sub(/\].*/, "", name)
			if (type != "pulumi:pulumi:Stack") printf "- %s `%s` (%s)\n", op, name, type
			op = "" }' preview.txt | sort -u
}

body() {
	echo "$marker"
	if [ "${EXIT:-1}" = 0 ]; then echo "### Preview of stack \`$STACK\`"; else echo "### Preview of stack \`$STACK\` failed"; fi
	price=$(jq -rs 'map(.hourlyUsd // empty) | last // empty' "$events")
	if [ -n "$price" ]; then
		printf '\n**Price:** $%s per hour while the stack runs.' "$price"
		# The output of the last update; a new stack has none.
		before=$(pulumi stack output hourlyUsd --stack "$STACK" 2>/dev/null || true)
		case $before in
		'' | *[!0-9.]*) printf ' The price before is unknown.\n' ;;
		*) jq -nr --argjson now "$price" --argjson before "$before" \
			'($now - $before) * 10000 | round / 10000 | if . == 0 then " No change." else " Change: \(.) USD per hour." end' ;;
		esac
	else
		printf '\n**Price:** unknown: the preview ended before it was computed.\n'
	fi
	if jq -es 'any(.[]; .refusal)' "$events" >/dev/null; then
		printf '\n**Capacity, quota and settings:** refused.\n\n'
		jq -r 'select(.refusal) | .refusal | "- `\(.code)`: \(.cause)\n  Next: `\(.next)`"' "$events"
	elif [ "${EXIT:-1}" = 0 ]; then
		printf '\n**Capacity, quota and settings:** no refusal. Quota and offers were checked; free capacity cannot be.\n'
	else
		printf '\n**Capacity, quota and settings:** unknown.\n'
	fi
	if grep -i '^ *warning: ' preview.txt >warnings.txt; then
		printf '\n**Could not be checked, or needs attention:**\n\n'
		sed 's/^ */- /' warnings.txt | sort -u | head -n 20
	fi
	printf '\n**Changes:**\n\n'
	grep -E '^ +[+~-]+ ?[0-9]+ (to |unchanged)|^ +[0-9]+ unchanged' preview.txt | sed 's/^ */- /' || echo '- unknown'
	words >words.txt
	if [ -s words.txt ]; then
		printf '\n'
		head -n 40 words.txt
		if [ "$(wc -l <words.txt)" -gt 40 ]; then printf -- '- and more, see below\n'; fi
	fi
	printf '\n<details><summary>Output of pulumi preview</summary>\n\n````\n'
	# A comment has 65,536 characters at most.
	tail -c 50000 preview.txt
	printf '\n````\n</details>\n'
}

if [ -n "${DRY_RUN:-}" ]; then
	body
	exit 0
fi
body >comment.md
id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" \
	--jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [ -n "$id" ]; then
	gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field body=@comment.md >/dev/null
else
	gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field body=@comment.md >/dev/null
fi
