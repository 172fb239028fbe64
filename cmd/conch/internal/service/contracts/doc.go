// Package contracts is the service of private contracts that several organisations share, which run a node of the
// sequencer each.
//
// So far it has the tables of such a node, which `conch migrate` keeps with the others, and no key of the configuration.
package contracts
