# Reads `go test -json` and prints what a person wants to see: the line that
# closes each package, all that a failed or skipped test printed, the list of
# what was skipped, and the closing count. Exits 1 when a test failed, and when
# all is set, when one was skipped. lint is 0 when the lint tools are missing.

# field returns the value of a string field as it is escaped in JSON.
function field(name,    start) {
	start = index($0, "\"" name "\":\"")
	if (!start) return ""
	start += length(name) + 4
	match(substr($0, start), /^([^"\\]|\\.)*/)
	return substr($0, start, RLENGTH)
}

function plain(text,    out, at, next2) {
	out = ""
	while (at = index(text, "\\")) {
		out = out substr(text, 1, at - 1)
		next2 = substr(text, at + 1, 1)
		text = substr(text, at + 2)
		if (next2 == "n") out = out "\n"
		else if (next2 == "t") out = out "\t"
		else if (next2 == "r") out = out "\r"
		else if (next2 == "u") {
			code = substr(text, 1, 4)
			text = substr(text, 5)
			out = out (code == "003c" ? "<" : code == "003e" ? ">" : code == "0026" ? "&" : "\\u" code)
		} else out = out next2
	}
	return out text
}

# Not JSON: a message of the go command itself.
!/^\{/ { print; next }

{
	action = field("Action")
	package = field("Package")
	test = field("Test")
	key = package " " test
}

action == "output" && test == "" {
	text = plain(field("Output"))
	if (text != "PASS\n" && text !~ /no test files\]\n$/) printf "%s", text
}
action == "build-output" { printf "%s", plain(field("Output")) }
action == "output" && test != "" {
	text = plain(field("Output"))
	if (text !~ /^=== /) printed[key] = printed[key] text
}
action == "pass" && test != "" { passed++; delete printed[key] }
action == "fail" && test != "" { failed++; blamed[package] = 1; printf "%s", printed[key]; delete printed[key] }
# A package that did not build, or ended outside its tests, is one failure.
action == "fail" && package != "" && test == "" && !(package in blamed) { failed++ }
action == "skip" && test != "" {
	reason = printed[key]
	gsub(/(^|\n)[ ]*--- SKIP[^\n]*/, "", reason)
	gsub(/[ \t\n]+/, " ", reason)
	skips[++skipped] = key ":" reason
}

END {
	if (lint == "0") skips[++skipped] = "make lint: the lint tools are missing"
	if (skipped) {
		print "\nskipped:"
		for (i = 1; i <= skipped; i++) print "  " skips[i]
		print "make setup installs what it can of what is missing"
	}
	printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
	if (all != "" && all != "0" && skipped) {
		print "ASSAY_REQUIRE_ALL is set: a skip is a failure"
		exit 1
	}
	if (failed) exit 1
}
