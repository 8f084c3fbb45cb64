import { GitBranch } from 'lucide-react'
import { ConditionForm } from './condition-form.tsx'
import { describeQuestion, problemOfQuestion } from './question.ts'
import type { StepView } from './step-view.ts'

export const conditionView: StepView = {
  word: 'Branch',
  Icon: GitBranch,
  newConfig: { field: 'subscribed', operator: 'equals', value: true },
  describe: (config, { segments }) => describeQuestion(config, segments),
  problem: problemOfQuestion,
  Form: ConditionForm,
  Result: () => null,
}
