// Package metadata reads what a runtime says of itself, its metadata of versions 14, 15 and 16: calls, events, errors, constants,
// storage, the extensions of a transaction, and the types of all of them. With it values are decoded for people, and encoded from
// what people write.
//
// Sources: the frame-metadata formats of versions 14, 15 and 16; requirements S18, S25.
package metadata
