// Package config reads conch.toml, the file of a node, and what the environment
// and the command line say about it.
//
//	file, err := config.Load(config.Source{Path: "conch.toml", Getenv: os.Getenv, Sections: sections})
//
// It knows [node], [database], [election] and what every role has. The rest is read by the
// sections of services: see [Section].
//
// # Who wins
//
// Flags win over the environment, the environment over the file, the file over
// defaults. A key inside [[roles]] wins over the same key of [election], whoever
// said that one: it speaks of one role, the other of all.
//
// # Faults
//
// Load lists every fault at once, each with its line and key: a list that hides its
// tail sends one back three times. An unknown key is a fault, since a typo that
// is ignored is a default that nobody chose. Sections of wings that this version
// does not have are refused by name.
//
// It opens no socket and no database. Relative paths are relative to the file.
// docs/configuration.md lists every key.
package config
