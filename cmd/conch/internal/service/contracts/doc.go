// Package contracts is the service of [[contracts]] and [[peers]]: the node of an organisation that shares private
// contracts with others. The process that leads its scope runs it.
//
//	api.go   /v1/contracts; view.go says what answers look like
//
// Requirements P28, P33, P38 to P43.
package contracts
