// Package budget lets requests through to an endpoint no faster than it takes them (W9). Where they have to wait, the more
// urgent ones go first, and of equally urgent ones those of each account in turn; the least urgent three kinds are sure of a
// part.
//
// A [Budget] is two pure halves under one lock: allowance.go has the numbers, which are configured or learned from what the
// endpoint refuses; queue.go has the requests that wait. budget.go joins them, and its timer serves the queue.
package budget
