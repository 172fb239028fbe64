#!/bin/sh
# Writes NOTICES.md: the modules of others that are linked into bin/conch, bin/conch-lab and bin/conch-devnode, and their licences, from the
# module cache. TestNotices says when it has to run again.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# linked lists module, version, its folder and a package's folder; with and without C, since each links something that the
# other does not.
linked() {
	for cgo in 0 1; do
		GOOS=linux CGO_ENABLED=$cgo go list -deps -f '{{$dir := .Dir}}{{with .Module}}{{if .Version}}{{.Path}} {{.Version}} {{.Dir}} {{$dir}}{{end}}{{end}}' "$1"
	done | grep . | sort -u
}
linked ./cmd/conch >"$work/conch"
linked ./cmd/conch/conch-lab >"$work/conch-lab"
linked ./chain/evm/cmd/conch-devnode >"$work/conch-devnode"

# texts lists the licence files of a package: in its folder, below it (C code has its own) and above it, up to the module.
texts() {
	module=$1 dir=$2
	find "$dir" -mindepth 2 -maxdepth 2 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' \) ! -name '*.go'
	while :; do
		find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) ! -name '*.go'
		if [ "$dir" = "$module" ]; then break; fi
		dir=$(dirname "$dir")
	done
}

# name says which licence a text is; empty for what only names somebody.
name() {
	head=$(tr -s ' \t\r\n' ' ' <"$1" | head -c 3000)
	case $head in
		*"GNU LESSER GENERAL PUBLIC LICENSE Version 3"*) echo LGPL-3.0 ;;
		*"GNU GENERAL PUBLIC LICENSE Version 3"*) echo GPL-3.0 ;;
		*"Mozilla Public License"*2.0*) echo MPL-2.0 ;;
		*"Apache License"*"Version 2.0"*) echo Apache-2.0 ;;
		*"Permission is hereby granted, free of charge"* | *"MIT license"*) echo MIT ;;
		*"Redistribution and use in source and binary forms"*[Nn]either*) echo BSD-3-Clause ;;
		*"Redistribution and use in source and binary forms"*) echo BSD-2-Clause ;;
		*"Permission to use, copy, modify, and"*) echo ISC ;;
		*"CC0 1.0 Universal"*) echo CC0-1.0 ;;
		*"This is free and unencumbered software"*) echo Unlicense ;;
		*) case $(basename "$1" | tr '[:upper:]' '[:lower:]') in notice*) ;; *) echo unknown ;; esac ;;
	esac
}

mkdir "$work/texts"
cat "$work/conch" "$work/conch-lab" "$work/conch-devnode" | sort -u >"$work/all"
cut -d' ' -f1-3 "$work/all" | sort -u | while read -r module version folder; do
	in=
	for program in conch conch-lab conch-devnode; do
		if grep -q "^$module " "$work/$program"; then in="$in${in:+, }$program"; fi
	done
	numbers= names=
	files=$(grep "^$module " "$work/all" | while read -r _ _ _ dir; do texts "$folder" "$dir"; done | awk '{ print length, $0 }' | sort -u | sort -n -s -k1,1 | cut -d' ' -f2-)
	if [ -z "$files" ]; then # it says so at the head of its sources alone
		files=$work/head
		awk '/^package/ { exit } { print }' "$(grep -lis licen "$folder"/*.go | head -n 1)" >"$files"
	fi
	for file in $files; do
		sum=$(git hash-object "$file")
		if [ ! -f "$work/texts/$sum" ]; then
			echo $(($(find "$work/texts" -name '*.n' | wc -l) + 1)) >"$work/texts/$sum.n"
			cp "$file" "$work/texts/$sum"
		fi
		number=$(cat "$work/texts/$sum.n")
		case " $numbers " in *" [$number](#text-$number) "*) continue ;; esac
		numbers="$numbers${numbers:+ }[$number](#text-$number)"
		licence=$(name "$file")
		case " $names " in *" $licence "*) ;; *) names="$names${names:+ }$licence" ;; esac
	done
	echo "| $module | $version | $names | $numbers | $in |"
done >"$work/table"

cp "$(go env GOROOT)/LICENSE" "$work/go"
{
	cat <<'END'
# Notices

conch is under the [Apache License 2.0](LICENSE). Its programs contain modules of others, linked into one file each, under
licences of their own. This page has them all, for Linux: pass it on with the programs. `scripts/licences.sh` writes it. It
is no legal advice.

The dashboard contains `preact`, `@preact/signals` and `@preact/signals-core`, all under MIT: `notices` beside it has their texts, in
`cmd/conch/internal/ui/dist/assets` and as a node serves it.

For most modules the text below is all that is asked for. More is asked for by two:

- **go-ethereum** is under LGPL-3.0: its library, which is all of its code outside of its folder `cmd`, of which conch links
  nothing. The text of GPL-3.0 is here because LGPL-3.0 is written as an addition to it; parts of the library have BSD and
  MIT licences. It is in `conch`, `conch-lab` and `conch-devnode`, not in `conch-noevm`, and in a program of yours only if that imports
  `chain/evm` or `sequencer/evm`. If you give such a program to others: say that go-ethereum is in it, pass both texts on, do
  not forbid that it is changed for own use or looked into for that purpose, and give what is needed to link it again with
  another go-ethereum. For conch its source at the version that `conch version` prints is enough: `go.mod` names the module,
  and `make build` links. For your own program that is its source, or its compiled packages.
- **go-bexpr** is under MPL-2.0, and in `conch-devnode` alone, unchanged: say where its source is. The module proxy has it by
  the name and the version of the table.

END
	echo "| module | version | licences | texts | linked into |"
	echo "|---|---|---|---|---|"
	cat "$work/table"
	echo
	echo "## Texts"
	echo
	echo "### Go, its runtime and its standard library"
	echo
	sed 's/^/    /; s/[ \t\r]*$//' "$work/go"
	for number in $(cat "$work"/texts/*.n | sort -n); do
		sum=$(grep -lx "$number" "$work"/texts/*.n)
		echo
		echo "### Text $number"
		echo
		sed 's/^/    /; s/[ \t\r]*$//' "${sum%.n}"
	done
} >NOTICES.md
