// Package chaos runs nodes as real processes against a real Postgres and does to
// them what happens to processes: SIGKILL, SIGSTOP, silent lines, a database that
// restarts or dies. What the nodes leave behind is judged by package evidence,
// which believes none of them.
package chaos
