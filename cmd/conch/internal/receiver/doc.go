// Package receiver tells people, and programs that wake people, what fires: it has the section [[notify]], writes the words of a message and sends
// it to PagerDuty, Slack, a webhook, an Alertmanager or by e-mail. A heartbeat is called while alerts are evaluated.
//
//	r := cfg.Open(os.Getenv, fault)
//	answer, err := r.Tell(ctx, act, place.Write(texts, message))
//
// # What becomes of a message
//
// [Receiver.Tell] sends one request over a connection of its own, which is never used again: so nothing is sent twice by a library, and nothing
// is lost on a connection that the other side was about to close. May is asked before each write.
//
//   - Taken: 2xx (PagerDuty: 202), or the server has confirmed the end of the e-mail.
//   - Refused: 4xx, and a redirect, which is not followed.
//   - Failed: nothing of the request has left; or 408, 425, 429; or the receiver itself says 5xx. A pause that it asks for is kept, up to
//     five minutes: until then nothing is sent.
//   - Doubted: a part of the request has left, and there is no answer. For receivers with keys also what a gateway says of a receiver that it
//     has not heard (502, 504, 520, 524): behind it a copy may still be under way, and would land after a newer message. The doubt says
//     the newest once more, later. A text that such a gateway did not deliver would be told to nobody if it were only doubted often enough,
//     so it has failed: it may come twice.
//
// # Secrets
//
// URLs, keys, tokens and passwords come from files that nobody else may read, or from the environment. No error shows one: errors of clients
// are put into words of our own, and of what a receiver answers 200 bytes are kept, without secrets, also such as are encoded, and without
// characters that nobody sees.
package receiver
