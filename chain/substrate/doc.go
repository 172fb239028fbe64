// Package substrate is the driver for chains that are made with Substrate, such as StorageHub's, Polkadot's and Kusama's: [Chain] is a
// chain.Chain behind one endpoint, over JSON-RPC and a WebSocket. The packages below it read and write the bytes of such chains.
//
// No configuration of the service leads to it yet.
//
// Sources: requirements S15, S18–S20, S23–S26; rules Z1, Z2, Z9–Z17, Z19 and Z20 of docs/requirements.md.
package substrate
