package evm

// Hold makes a signer of a key, without the second that opening a file takes.
var Hold = hold

// Judge is the table of sayings.
var Judge = judge

// Status is what a receipt says.
var Status = status
