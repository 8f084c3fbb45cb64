import type { Page } from 'playwright-core'

type Fiber = { alternate: Fiber | null; child: Fiber | null; sibling: Fiber | null; flags: number; type: unknown; memoizedProps: unknown }
type Counted = { counted: { props: string[]; renders: number } }

/**
 * Counts how often React renders the components with these props, from the next page load on. Reads the trees that React shows to its
 * developer tools after each change, also in a production build.
 */
export async function countRendersOf(page: Page, ...props: string[]) {
  await page.addInitScript((names) => {
    const counted = { props: names, renders: 0 }
    const PERFORMED_WORK = 1
    const isCounted = ({ type, memoizedProps }: Fiber) =>
      typeof type !== 'string' &&
      typeof memoizedProps === 'object' &&
      memoizedProps !== null &&
      names.every((name) => name in memoizedProps)
    /** A part that was not rendered keeps its children. */
    function visit(fiber: Fiber) {
      const before = fiber.alternate
      if ((!before || fiber.flags & PERFORMED_WORK) && isCounted(fiber)) counted.renders++
      if (before && before.child === fiber.child) return
      for (let child = fiber.child; child; child = child.sibling) visit(child)
    }
    Object.assign(window, {
      counted,
      __REACT_DEVTOOLS_GLOBAL_HOOK__: {
        supportsFiber: true,
        inject: () => 1,
        onCommitFiberRoot: (_: number, root: { current: Fiber }) => visit(root.current),
        onCommitFiberUnmount: () => {},
        onPostCommitFiberRoot: () => {},
        checkDCE: () => {},
      },
    })
  }, props)
  return {
    /** Renders since the last call. */
    take: () =>
      page.evaluate(() => {
        const { counted } = window as unknown as Counted
        const { renders } = counted
        counted.renders = 0
        return renders
      }),
  }
}
