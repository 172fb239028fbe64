// Package prolog is an ontology for a log: a state machine whose goals are goals of Prolog, and whose state is clauses.
//
//	counter(0).                                            some clauses
//	retract(counter(N)), M is N + 1, assertz(counter(M))   a goal that changes them
//
// # Goals
//
// A goal is the text of one, in UTF-8, with or without a full stop. It is solved once, and what its first solution has changed is what it
// changes:
//
//	move(X, 3)                                     the text alone
//	"move(X, 3)"                                   the same as JSON, which is what the HTTP interface passes on
//	{"consult":"at(a, 1).\nat(b, 2).\n"}           a file: it replaces the predicates that it defines
//	{"consult":"…","reverse":true}                 the same, with the clauses of each predicate in the reverse order
//
// The result is JSON: {"bindings":{"X":"vec3(1,2,3)"}}, each value a text that reads back. Variables without a value are _A, _B and so on; those whose names begin
// with _ are left out. What the goal has written (write/1, format/2) is in "output". A result has 4 KiB at most.
//
// A goal that has no solution, that throws, or that takes too many steps changes nothing at all: all it did was on a draft. catch/3 undoes nothing of
// what it changes, as the standard says.
//
// # What there is
//
// The control constructs, the builtins and the arithmetic of ISO 13211-1 but for streams, and what programs expect beside them (library.pl). A goal may define a
// predicate that the library has: then its own is used everywhere. Integers have 64 bits. There is no world: no file, no stream, no clock, no chance, no halt. The
// sender of a goal puts into it what it knows of the world.
//
// What a goal wants done outside of the log it says by effect(Kind, Term): see txlog.Effect. The body is the term's text.
//
// Flags are set by goals, too: set_prolog_flag(unknown, fail) has a call of a predicate that does not exist fail; without it, it is an error.
//
// # Faults
//
// Why a goal has failed begins with a word for a program:
//
//	no:        it has no solution
//	error:     it has thrown: "error: type_error(evaluable,foo/0) in (is)/2"
//	bad goal:  it is no goal: "bad goal: line 1, column 9: …"
//	limit:     its answer or what it changes is too large
//
// One that takes too many steps names the predicate that it has called most: txlog.ErrBudget.
//
// # Queries
//
//	{"goal":"at(X, Y)","limit":10,"offset":0}      solutions, 100 by default; "more" says whether there may be others
//	{"listing":"at/2"}, {"listing":"at"}, {"listing":""}   clauses, as text that consult takes
//
// A query changes nothing: what would is a permission_error. It takes no more steps than a goal.
//
// # What a diff says
//
// A clause has a name: its predicate and its rank. assertz/1 gives it the last rank of the predicate and one more, asserta/1 the first and one less. A diff says of
// each name what was there before and what is there after, as bytes. So copies cannot differ by a version of this program or by a processor: nobody but the
// leader reads a text, solves a goal or writes a number.
package prolog
