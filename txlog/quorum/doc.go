// Package quorum is the authority of a log whose entries a majority of named members decides on, by a library's consensus
// core.
package quorum
