// Package config reads a node's configuration: the file conch.toml, the environment and the
// command line.
//
//	file, err := config.Load(config.Source{Path: "conch.toml", Getenv: os.Getenv, Sections: sections})
//
// It knows [node], [database], [election] and the keys that all roles share. The sections of
// services read the rest: see [Section].
//
// # Precedence
//
// Flags override the environment, the environment overrides the file, and the file overrides
// defaults. A key of one role overrides the same key of [election], even if a flag or the
// environment has set that.
//
// # Faults
//
// Load lists every fault at once, each with its line and key, so that one correction is enough.
// What the file lacks has the line of its table, or none. An unknown key is a fault, since an
// ignored typo would silently leave a default. Sections of wings that this version does not have
// are refused by name.
//
// It opens no socket and no database. Relative paths start at the file's folder.
// docs/configuration.md lists every key.
package config
