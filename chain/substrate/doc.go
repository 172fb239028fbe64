// Package substrate is for chains that are made with Substrate, such as StorageHub's, Polkadot's and Kusama's: its packages read
// and write their bytes.
package substrate
