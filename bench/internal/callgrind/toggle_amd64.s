#include "textflag.h"

// func toggle()
//
// It is CALLGRIND_TOGGLE_COLLECT of valgrind's callgrind.h: AX points to the request and its five arguments, and four
// rotations by 128 bits in all, which change nothing, are its mark.
TEXT ·toggle(SB), NOSPLIT, $48-0
	MOVQ $0x43540002, AX // 'C', 'T', 2
	MOVQ AX, 0(SP)
	XORQ DX, DX
	MOVQ DX, 8(SP)
	MOVQ DX, 16(SP)
	MOVQ DX, 24(SP)
	MOVQ DX, 32(SP)
	MOVQ DX, 40(SP)
	MOVQ SP, AX
	ROLQ $3, DI
	ROLQ $13, DI
	ROLQ $61, DI
	ROLQ $51, DI
	BYTE $0x48; BYTE $0x87; BYTE $0xdb // XCHGQ BX, BX, which the assembler may leave out
	RET
