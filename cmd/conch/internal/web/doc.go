// Package web is conch's HTTP API, version 1. openapi.yaml documents it for callers. This page
// is for the code that puts a site together:
//
//	tokens, err := web.LoadTokens(cfg.ReadTokenFile, cfg.TokenFile)
//	cert, err := web.LoadCertificate(cfg.TLSCert, cfg.TLSKey, log)     // nil without TLS
//	err = web.CheckListen(cfg.Listen, cert != nil, tokens.Any())       // before anything starts
//	site, err := web.New(web.Config{
//		ID: id, Version: version, Logger: log, Tokens: tokens,
//		Electors: electors,
//		Observe:  func(ctx context.Context) (web.Observer, error) { return pgops.Observe(ctx, database) },
//		Metrics:  metric.Page(collector),
//	})
//	defer site.Close()
//	api, err := web.Listen(ctx, cfg.Listen, cert)
//	ops, err := web.Listen(ctx, cfg.OpsListen, nil)
//	go site.Serve(ctx, api, site.API())
//	go site.Serve(ctx, ops, site.Ops())
//	// on SIGHUP: tokens.Reload(), cert.Reload(); or Read, if another part may still fail
//
// # Who may do what
//
// A token may either read, or operate, which means read and drain. The history shows the
// name of the token that asked for a drain. Without tokens every caller that reaches the
// listener may do everything, so [CheckListen] allows that only on loopback and Unix sockets.
// Pages of other sites in a browser are refused by their origin and, on loopback without
// tokens, by the host name of their requests. The ops handler needs no token: it shows who
// leads and the state of the process, and changes nothing. /leader never needs one, since
// load balancers have none.
//
// # What an answer is worth
//
// All answers but one describe the past. The exception is a 200 from a gate's act door: it
// promises that the caller may act for expires_in_ms after it sent the request; the type open
// says why that is safe. A handover waits until the last promise has expired. Each lasts half
// a second at most, or as long as ?for= asks, up to Config.AnswerMax. Other answers promise
// nothing: the fenced door's, since its resource refuses a late act, and those to ?promise=no
// and /leader, which are for routers. Every answer says no-store: a cached answer of a gate
// would be unsafe.
//
// Reads come from the database and carry as_of, the time of reading. While the database is
// away, the last reads are served again, marked stale (S21), and say of nobody that it leads; history
// and event streams are refused. A stream that is open is told so by an event called source, and
// the stream of a page begins with it. Every refusal is an RFC 9457 problem document, except those of net/http before a
// handler runs: to a request that is not HTTP, or whose header exceeds 16 KiB.
//
// # Connections
//
// One connection serves all reads, and is replaced when it fails. Two more, a watch and its
// LISTEN, serve all event streams together while there are any, and one reads the heartbeats each second,
// and all rows after an event or five seconds, for all pages: see shared. Package live decides what pages are told.
//
// # State
//
//	serving --ctx of Serve ends--> ending: streams end, /readyz is 503, requests finish --> closed
//
// Requirements S21, S32, S33, F2, F6, F8.
package web
