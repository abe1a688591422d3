// RUN: pto-buf-opt %s --split-input-file --expect-errors
// RUN: pto-buf-opt %s --split-input-file --verify-diagnostics

func.func @undefined() {
  // expected-error@+1 {{value %one is not defined}}
  %two = arith.addi %one, %one : index
  // expected-error@below {{value %three is not defined [undefined-value]}}
  %four = arith.addi %three, %two : index
  return
}

// -----

func.func @unknown_op() {
  arith.addition // expected-error {{there is no op 'arith.addition' [unknown-op]}}
}

// -----

func.func @unknown_dialect() {
  // expected-error@+2 {{op 'arth.addi' is of an unknown dialect 'arth'}}
  // expected-help@+1 {{did you mean 'arith'?}}
  %a = arth.addi
}

// -----

// A type that is wrong in itself has the place of its first letter.
func.func @wrong_type() {
  // expected-error@+1 {{'nowhere' is none of gm, mat, left, right, acc, vec, bias, scaling}}
  %x = arith.index_cast %x : !pto.tile_buf<nowhere, 16x16xf32> to index
}

// -----

func.func @used_too_early(%c: index) {
  %a = arith.addi %b, %c : index // expected-error {{'arith.addi': %b is used where it is not defined yet}}
  %b = arith.addi %c, %c : index // expected-note {{the value is defined here}}
  return
}

// -----

func.func @wrong_op(%c: i32) -> index {
  // expected-error@+1 {{'func.return': expected arguments to have the same types as the function output types}}
  return %c : i32
}

// -----

func.func @two_terminators() {
  return // expected-error {{'func.return' must be the last operation in its parent block}}
  return
}

// -----

func.func @unclosed() {
  // expected-error@+1 {{an operation or '}' is expected here, but the text ends [syntax]}}
  return
