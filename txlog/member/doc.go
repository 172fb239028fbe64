// Package member is one member of a log: the part of it that stands on the authority. A [Machine] executes goals while it
// leads, looks at what another leader sends before it is stored, applies what is committed, and answers. It is pure:
// inputs go in, actions come out.
package member
