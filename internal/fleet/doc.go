// Package fleet runs processes that die with the process that started them. Each is known by its handle: what it prints and its
// end are told, its last words are kept, and every wait for it ends.
package fleet
