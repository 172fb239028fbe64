// Package storetest is the suite that every store of a log must pass, and makes what it stores.
package storetest
