package keeper

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What keeps a script from being run is said in words, not as a file that is missing.
func TestScriptsThatCannotBeRun(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"#!/bin/sh\r\nexit 0\r\n":                     `"#!/bin/sh\r", ends with a carriage return`,
		"#!/usr/bin/env python3\r\nexit()\r\n":        "ends with a carriage return",
		"#!/no/such/shell -e\nexit 0\n":               `the interpreter "/no/such/shell", which cannot be used: no such file or directory`,
		"#! /bin/sh\nexit 0\r\n":                      "",
		"#!/bin/sh":                                   "",
		"\x7fELF or whatever the system can run \r\n": "",
	} {
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Runnable(path)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\r")) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
	for err, says := range map[error]string{
		syscall.ENOEXEC: "a cannot be run: it is no program of this system, and no script, which begins with #! and an interpreter",
		syscall.EACCES:  "a cannot be run: permission denied",
		syscall.ENOMEM:  "a cannot be run: cannot allocate memory",
	} {
		if got := notStarted("a", err); got.Error() != says {
			t.Errorf("got %v, want %s", got, says)
		}
	}
	if _, err := Runnable("no-such-command"); err == nil || err.Error() != "no-such-command cannot be run: executable file not found in $PATH" {
		t.Errorf("got %v", err)
	}
}
