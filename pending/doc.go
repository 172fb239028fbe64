// Package pending x.
package pending
