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
//
// # Add a key
//
//  1. A field with a comment in its section's struct: config.go of the service, or of this package for [node], [database],
//     [election] and what every role has (sections.go). If a library has the default, 0 means the library's.
//  2. The key and its setter: Section.Keys of the service, or Decoder.node, base, election, tune or Role of this package. A new kind
//     of value is a new setter in decode.go. This line is the whole parser.
//  3. A fault that one key alone does not show goes into the service's Section.Validate, or into validate.go: the place, what
//     is wrong, and what to write instead.
//  4. A key of a role, an account or files takes effect at a reload by itself, since compare (reload.go of package node) looks at
//     the whole role. A key that is read once gets a line in restarts, or in Restarts of the service's section ([Fixed]).
//  5. Tests: TestEveryKey (or TestAccounts, TestFiles) for the value, TestFaults for each fault.
//  6. Pages: a row in docs/configuration.md, with whether it needs a restart; deploy/conch.toml if operators should see it. An
//     environment variable is read by Config.WithEnv of election or ConfigFromEnv of pgmint.
package config
