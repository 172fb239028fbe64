package crowd

var stories []scene
