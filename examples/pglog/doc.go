// Package pglog shows a log that a Postgres database decides on, in a program of its own. Its test has the program.
package pglog
