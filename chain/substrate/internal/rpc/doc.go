// Package rpc speaks JSON-RPC over a WebSocket with one endpoint.
//
// A [Client] connects when it is first asked, and again after its connection was lost. Calls of several goroutines share the
// connection, and each has its own deadline. A connection on which calls wait and nothing comes is given up. Nothing that was asked is
// asked again: its caller knows whether that is safe.
//
// No error has a secret of the URL or of the headers in it.
//
// Sources: the JSON-RPC 2.0 specification; requirement S15; rule Z19 of the Substrate review.
package rpc
