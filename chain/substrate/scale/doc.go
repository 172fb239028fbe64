// Package scale reads and writes SCALE, the byte format of Substrate: little-endian numbers, compact numbers and lengths, nothing
// that names a type.
//
// What is read comes from endpoints, and may be a bomb: a few bytes that promise billions of values, or nest for ever. A [Decoder]
// allocates nothing for what is not there, and has limits of depth and of all values together. It fails once: after the first
// error each call returns a zero value, so that a caller asks Err at the end.
//
// Sources: the SCALE codec of the Polkadot specification; requirements S18, S25.
package scale
