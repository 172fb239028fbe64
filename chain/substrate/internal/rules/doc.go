// Package rules decides what the driver does where the chain leaves a choice, without asking it for anything: when an attempt is born and
// until when it is good, by how much a tip is raised, what events say of an effect, and which calls would end their account. It is pure.
//
// Sources: requirements S18, S20, S25; rules Z1, Z2, Z10, Z16, Z20 of the Substrate review.
package rules
