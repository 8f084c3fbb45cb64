import { GitBranch } from 'lucide-react'
import { ConditionForm } from './condition-form.tsx'
import { describeQuestion, problemOfQuestion } from './question.ts'
import type { StepView } from './step-view.ts'

export const conditionView: StepView = {
  word: 'Branch',
  Icon: GitBranch,
  newConfig: { field: 'subscribed', operator: 'equals', value: true },
  branches(config) {
    if (config.mode !== 'multi')
      return [
        { branch: 'yes', label: 'Yes' },
        { branch: 'no', label: 'No' },
      ]
    const branches = Array.isArray(config.branches) ? (config.branches as { id: string; name?: string }[]) : []
    return [...branches.map(({ id, name }) => ({ branch: id, label: name || id })), { branch: 'default', label: 'None of these' }]
  },
  describe: (config, { segments }) => describeQuestion(config, segments),
  problem: problemOfQuestion,
  Form: ConditionForm,
  Result: () => null,
}
