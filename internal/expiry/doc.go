// Package expiry judges certificates by a clock. It is pure: the doctor, the check of a configuration, the metrics and the log of
// a node ask this one judgement, so none of them calls well what another one calls ended.
package expiry
