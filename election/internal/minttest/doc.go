// Package minttest has what the tests of pgmint and of pgops share: mints on a private
// Postgres, sessions that bid and lead, electors, and servers whose failures a test makes.
package minttest
