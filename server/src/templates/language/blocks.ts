import type { LiquidExpression, Operand } from './expression.ts'

/** An output of a template. */
export type Output = { expression: LiquidExpression; isUrl: boolean }
type LoopHead = { local: string; list: Operand }
/** A tag, with its condition if it has one; `loop` only without options such as `limit`. */
export type TagStep = { tag: string; hasArguments: boolean; test?: LiquidExpression; loop?: LoopHead }
/** A part of a template in the order in which it is written. */
export type Step = string | Output | TagStep

/** Chosen when its test holds, or does not. Without a test: always. */
type Branch = { test: LiquidExpression | undefined; isNegated: boolean; block: Block }
/** The first branch that is chosen. */
export type Choice = { branches: Branch[] }
/** `otherwise`: for an empty list. */
export type Loop = LoopHead & { block: Block; otherwise: Block }
export type Block = (string | Output | Choice | Loop)[]

type Open = { end: string; outer: Block; node: Choice | Loop; hasElse: boolean }

/** The steps of a template in their blocks. Undefined if it has other tags than conditions and loops, or one that the engine would refuse. */
export function nestSteps(steps: Step[]): Block | undefined {
  const root: Block = []
  const open: Open[] = []
  let block: Block | undefined = root
  for (const step of steps) {
    if (typeof step === 'string' || 'expression' in step) block.push(step)
    else {
      block = enter(step, block, open)
      if (!block) return undefined
    }
  }
  return open.length ? undefined : root
}

/** The block that the following steps belong to. */
function enter({ tag, hasArguments, test, loop }: TagStep, block: Block, open: Open[]): Block | undefined {
  if ((tag === 'if' || tag === 'unless') && test) {
    const branch = { test, isNegated: tag === 'unless', block: [] }
    return openNode({ branches: [branch] }, { tag, outer: block, inner: branch.block }, open)
  }
  if (tag === 'for' && loop) {
    const node: Loop = { ...loop, block: [], otherwise: [] }
    return openNode(node, { tag, outer: block, inner: node.block }, open)
  }
  const last = open.at(-1)
  if (tag === 'elsif' && test && last && !last.hasElse && 'branches' in last.node) return addBranch(last.node, test)
  if (hasArguments || !last) return undefined
  if (tag === last.end) return open.pop()!.outer
  if (tag !== 'else' || last.hasElse) return undefined
  last.hasElse = true
  return 'branches' in last.node ? addBranch(last.node, undefined) : last.node.otherwise
}

function openNode(node: Choice | Loop, { tag, outer, inner }: { tag: string; outer: Block; inner: Block }, open: Open[]) {
  outer.push(node)
  open.push({ end: `end${tag}`, outer, node, hasElse: false })
  return inner
}

function addBranch({ branches }: Choice, test: LiquidExpression | undefined) {
  const branch: Branch = { test, isNegated: false, block: [] }
  branches.push(branch)
  return branch.block
}
