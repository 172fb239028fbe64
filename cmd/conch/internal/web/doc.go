// Package web is conch's HTTP API, version 1. openapi.yaml documents it for those
// who call it; this page is for whoever puts it together:
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
//	// on SIGHUP: tokens.Reload(), cert.Reload(); or Read, if what else is read may be refused
//
// # Who may do what
//
// Two kinds of tokens: one reads, one operates, which means reading and draining.
// The name of the token that drained is in the history. Without any token everybody
// who reaches the listener may do everything, so [CheckListen] allows that on
// loopback and on Unix sockets only; there a page of another site in a browser is
// refused by its origin and by the name it asked for. The ops handler asks nobody:
// it says who leads and how the process fares, and can change nothing. Nor does /leader,
// on either: a load balancer has no token.
//
// # What an answer is worth
//
// All but one are about the past. The exception is the 200 of a gate's act door: with its
// expires_in_ms, counted from when the caller sent the request, it is a promise that a
// caller in any language may act on; see the type open for why. A handover waits until the
// last such promise is over, so each is for half a second at most, or for what ?for= asked,
// up to Config.AnswerMax. Nothing else counts: the fenced door's answers, for its resource
// refuses what is late, nor ?promise=no and /leader, which are for routers. A process
// behind a proxy must not have its gate cached: every answer says no-store.
//
// Reads come from the database and carry as_of, when they were read. While it is
// away the last ones go on being served, marked stale (S21); history and event
// streams are refused. Every refusal is an RFC 9457 problem document, except what
// net/http says before a handler runs: to a request that is no HTTP, or whose header
// exceeds 16 KiB.
//
// # Connections
//
// One connection serves all reads, and comes back when it was lost. Two more
// (a watch and its LISTEN) serve all event streams together, while there are any.
//
// # State
//
//	serving --ctx of Serve ends--> ending: streams end, /readyz is 503, requests finish --> closed
//
// Requirements S21, S32, S33, F2, F6, F8.
package web
