// Package disk keeps one node's part of a log in a file.
package disk
