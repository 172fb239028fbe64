// Package candidate is one process of a peer that wants to lead. While it believes that it leads, it
// appends lines to a file that all candidates share. It works as a user's program would: inside the
// callback of its library, or as long as the library's context or session lives.
package candidate
