// Package candidate is one process of a peer that wants to lead. While it believes
// that it leads it appends a line to a file that all candidates share, as a user's
// program would do its work: inside the callback, or for as long as the context
// or the session lives, that the library hands out for it, and in no other way.
package candidate
